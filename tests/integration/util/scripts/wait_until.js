const done = arguments[arguments.length - 1];
const look = () => {
    let seen = null;
    try {
        seen = EXPRESSION;
    } catch {
        // Not there yet.
    }
    if (seen) {
        done(seen);
    } else {
        setTimeout(look, 10);
    }
};
look();
