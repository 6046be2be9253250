import { t } from "../shared/language.js";

/** The name of who did what an entry of the audit log says. */
export function actorName({ person, userId, application, clientId }) {
    return person || userId || application || clientId || t("audit.command-line");
}
