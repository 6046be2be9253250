const shown = document.querySelector("dialog[open]") ?? document;
const isBusy = [...shown.querySelectorAll("[aria-busy=true]")].some((element) => element.checkVisibility());
const look = () => {
    SCRIPT;
};
return !isBusy && Boolean(look());
