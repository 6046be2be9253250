const behind = getComputedStyle(document.body).backgroundColor;
const isMarked = (link) => {
    const { borderBlockEndWidth, borderBlockEndColor } = getComputedStyle(link);
    return borderBlockEndWidth !== "0px" && borderBlockEndColor !== behind;
};
return [...document.querySelectorAll(".modules a")].filter(isMarked).map((link) => link.textContent);
