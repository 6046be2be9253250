import { t } from "../shared/language.js";

/** What a failed call means for the person. */
export function explain(failure) {
    switch (failure.status) {
        case 0:
            return t("common.not-reached");
        case 401:
            return t("account.ended");
        case 403:
            // The message names the field that is wrong; others tell that the person may not.
            return t(/^(password|code):/u.test(failure.message) ? "factor.wrong" : "account.refused");
        case 409:
            return t("factor.locked");
        case 429:
            return t("factor.wait", { count: failure.retryAfter ?? 60 });
        default:
            return t("common.failed");
    }
}
