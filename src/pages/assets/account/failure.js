import { t } from "../shared/language.js";

/** What a failed call means for the person. */
export function explain(failure) {
    switch (failure.status) {
        case 0:
            return t("common.not-reached");
        case 401:
            return t("account.ended");
        case 403:
            return t("factor.wrong");
        case 429:
            return t("factor.wait", { count: failure.retryAfter ?? 60 });
        default:
            return t("common.failed");
    }
}
