const [path, given, done] = arguments;
const base = document.querySelector("script[type=module]").src;
const read = FUNCTION;
import(new URL(path, base)).then((module) => done(read(module, given))).catch((error) => done(String(error)));
