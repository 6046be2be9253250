const done = arguments[arguments.length - 1];
const down = () => {
    if (document.querySelector(".tail .all, .tail button")) {
        done(true);
        return;
    }
    scrollTo(0, document.documentElement.scrollHeight);
    requestAnimationFrame(() => setTimeout(down, 5));
};
down();
