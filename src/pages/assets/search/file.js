import { call } from "../shared/api.js";
import { language, t } from "../shared/language.js";

/** Types of modules that can hold this server's files: files and mixed. */
const WITH_FILES = new Set([9, 101]);

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/**
 * An item's file; null where it is not one of this server's.
 *
 * @param {object} item
 * @param {{type: number}} module
 * @returns {{id: string, extension: string, size: number} | null}
 */
export function fileOf(item, module) {
    if (!WITH_FILES.has(module.type) || typeof item.attachInfo !== "string") {
        return null;
    }
    try {
        const { extension, size: bytes, version, directoryId } = JSON.parse(item.attachInfo);
        const isFile = typeof extension === "string" && Number.isFinite(bytes) && Number.isFinite(version)
            && typeof directoryId === "string";
        return isFile ? { id: item.id, extension, size: bytes } : null;
    } catch {
        return null;
    }
}

/** Why the text of an item's file is empty or not whole; null where nothing is missing. */
export function textProblem({ attachInfo }) {
    try {
        const { textProblem: problem } = JSON.parse(attachInfo);
        return typeof problem === "string" ? problem : null;
    } catch {
        return null;
    }
}

export function size(bytes) {
    const place = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
    const format = new Intl.NumberFormat(language, { maximumFractionDigits: place ? 1 : 0 });
    return `${format.format(bytes / 1000 ** place)}\u00a0${UNITS[place]}`;
}

/**
 * Downloads a file. Its signed address is requested on click, as it expires soon.
 *
 * @param {HTMLElement} from the clicked element
 * @param {{id: string}} file
 */
export async function download(from, file) {
    from.setAttribute("aria-busy", "true");
    try {
        const { data } = await call("POST", "/v1/stream/download", { body: { fileId: file.id } });
        const address = new URL(data, document.baseURI);
        if (address.protocol !== "http:" && address.protocol !== "https:") {
            throw new Error("no address");
        }
        const link = document.createElement("a");
        Object.assign(link, { href: address.href, target: "_blank", rel: "noopener noreferrer" });
        link.click();
    } catch (failure) {
        from.dispatchEvent(new CustomEvent("trawl-say", { bubbles: true, detail: { text: t("row.file-failed"), failure } }));
    } finally {
        from.removeAttribute("aria-busy");
    }
}
