import { language } from "./language.js";

const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
const exactly = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "medium" });
const thisYear = new Intl.DateTimeFormat(language, { month: "short", day: "numeric" });
const otherYear = new Intl.DateTimeFormat(language, { year: "numeric", month: "short", day: "numeric" });

const ofDay = new Intl.DateTimeFormat(language, { timeStyle: "short" });
const ofDate = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });

/** Units, their length in milliseconds, and the age up to which they are used; seconds are not counted. */
const UNITS = [
    ["second", Infinity, 60_000],
    ["minute", 60_000, 3_600_000],
    ["hour", 3_600_000, 86_400_000],
    ["day", 86_400_000, 7 * 86_400_000],
];

/**
 * A relative time up to a week, else the date.
 *
 * @param {number} time epoch milliseconds
 * @param {number} now epoch milliseconds
 */
export function relativeTime(time, now) {
    const age = time - now;
    const unit = UNITS.find(([, , most]) => Math.abs(age) < most);
    if (unit) {
        return relative.format(Math.trunc(age / unit[1]), unit[0]);
    }
    const date = new Date(time);
    if (Number.isNaN(date.getTime())) {
        return "";
    }
    return (date.getFullYear() === new Date(now).getFullYear() ? thisYear : otherYear).format(date);
}

/** A day's date, without the year if it is this one. */
export function formatDay(time) {
    const date = new Date(time);
    return (date.getFullYear() === new Date().getFullYear() ? thisYear : otherYear).format(date);
}

/** The exact time; empty for an invalid one. */
export function exactTime(time) {
    const date = new Date(time);
    return Number.isNaN(date.getTime()) ? "" : exactly.format(date);
}

/** ISO 8601, for attributes. */
export function isoTime(time) {
    const date = new Date(time);
    return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** The time of day, with the date unless it is today. */
export function clockTime(time, now) {
    const isToday = new Date(time).toDateString() === new Date(now).toDateString();
    return (isToday ? ofDay : ofDate).format(time);
}
