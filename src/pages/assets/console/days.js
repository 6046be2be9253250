// Days of date inputs (`YYYY-MM-DD`) in the browser's time zone, as epoch milliseconds.

/** The first moment of a day; null without a day. */
export function startOfDay(day) {
    return at(day, 0);
}

/** The first moment after a day; null without a day. */
export function endOfDay(day) {
    return at(day, 1);
}

function at(day, later) {
    const parts = /^(\d{4,6})-(\d\d)-(\d\d)$/.exec(day ?? "");
    return parts ? new Date(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3]) + later).getTime() : null;
}
