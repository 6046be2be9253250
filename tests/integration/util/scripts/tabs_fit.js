const list = document.querySelector(".modules ul");
const { top, bottom } = list.getBoundingClientRect();
const current = list.querySelector("[aria-current]").getBoundingClientRect();
return [
    list.scrollWidth <= list.clientWidth,
    bottom <= innerHeight,
    top <= current.top && current.bottom <= bottom,
];
