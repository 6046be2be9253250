// Moves to another tenant and presses Enable at the same time.
test.record();
const enable = [...document.querySelectorAll("button")].find((button) => button.textContent === "Enable");
test.follow("?view=keys&tenant=beta");
enable.click();
queueMicrotask(() => enable.click());
setTimeout(() => enable.click(), 0);
