const width = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth <= width) {
    return [];
}
const scrolls = (element) => element !== document.documentElement && element !== document.body
    && getComputedStyle(element).overflowX !== "visible";
const isHeld = (element) => {
    for (let at = element.parentElement; at; at = at.parentElement) {
        if (scrolls(at)) {
            return true;
        }
    }
    return false;
};
const wide = [...document.body.querySelectorAll("*")].filter((element) =>
    element.getBoundingClientRect().right > width + 0.5 && !isHeld(element));
const innermost = wide.filter((element) => !wide.some((other) => other !== element && element.contains(other)));
return [`the page is ${document.documentElement.scrollWidth} wide in a window of ${width}`].concat(
    innermost.slice(0, 5).map((element) => element.outerHTML.slice(0, 160)));
