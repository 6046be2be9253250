const [done] = arguments;
const base = document.querySelector("script[type=module]").src;
Promise.all(["../shared/language.js", "../texts/console.js"].map((path) => import(new URL(path, base))))
    .then(([language, texts]) => done(language.addTexts(texts.default)))
    .catch((error) => done(String(error)));
