const value = (selector) => document.querySelector(selector).value;
return [
    ...["#box", "[name=from]", "[name=to]", "[name=author]", "[name=sort]:checked"].map(value),
    document.querySelector("[aria-current]").textContent,
];
