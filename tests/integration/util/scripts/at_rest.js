const [element, done] = arguments;
let before = null;
const look = () => {
    element.scrollIntoView({ block: "center", behavior: "instant" });
    const { x, y, width, height } = element.getBoundingClientRect();
    const now = [x, y, width, height].join();
    if (now === before) {
        done(true);
    } else {
        before = now;
        requestAnimationFrame(() => requestAnimationFrame(look));
    }
};
look();
