const add = (name, attributes, text) => {
    const added = document.body.appendChild(document.createElement(name));
    Object.assign(added.style, attributes);
    added.textContent = text;
    return added;
};
add("p", { color: "silver", background: "white" }, "faint");
add("input", {}, "");
add("div", { width: "2000px" }, "wide");
add("button", { outline: "none" }, "unseen");
add("button", {}, "trap").addEventListener("keydown", (event) => event.preventDefault());
