// The session behind the page: who is signed in, until that ends or another person takes over.

import { element } from "../shared/dom.js";
import { t } from "../shared/language.js";
import { fetchSession, notifyTabs, signInAddress, signOut } from "../shared/session.js";
import { isSamePerson, watchSession } from "../shared/session-watch.js";
import { currentPath } from "./sign-in.js";

export class PageSession {
    #session = null;
    #isSignedOut = false;
    #isLeaving = false;
    #wasRetried = false;
    #notice;

    /**
     * @param {import("./notice.js").Notice} notice
     * @param {{begin: (session: object) => void, askToSignIn: (session: object, error: string | null) => void, resume: () => void, clear: () => void}} page
     *     `clear` removes everything before another person can see it
     */
    constructor(notice, page) {
        this.#notice = notice;
        this.page = page;
    }

    /** Whether the page may keep what the person does. */
    get isActive() {
        return this.#session !== null && !this.#isSignedOut;
    }

    /** @param {string | null} error of the last sign-in */
    async load(error) {
        this.#notice.expect();
        let session;
        try {
            session = await fetchSession();
        } catch (failure) {
            this.#notice.showFailure(failure, () => this.load(error));
            return;
        }
        this.#notice.succeed();
        this.#watch(session);
        if (session.signedIn) {
            notifyTabs("signed in");
            this.#session = session;
            this.page.begin(session);
        } else {
            this.page.askToSignIn(session, error);
        }
    }

    /** The server has answered this person. */
    succeed() {
        this.#isSignedOut = this.#wasRetried = false;
        this.#notice.succeed();
    }

    /** Handles a 401: results stay, and the sign-in leads back here. */
    async refuse(again) {
        const session = await fetchSession().catch(() => ({ signedIn: false, tenant: null }));
        if (session.signedIn) {
            this.#refuseValid(session, again);
            return;
        }
        this.#isSignedOut = true;
        const tenant = session.tenant?.code ?? session.tenant ?? this.#session.tenant?.code;
        this.#notice.showLasting(t("trouble.signed-out"),
            element("a", { class: "button main", href: signInAddress({ to: currentPath(), tenant }) }, t("common.sign-in")));
    }

    /** A 401 with a session: another person's, or a renewed one. */
    #refuseValid(session, again) {
        if (!isSamePerson(session, this.#session)) {
            this.leave(() => location.reload());
        } else if (again && !this.#wasRetried) {
            this.#wasRetried = true;
            again();
        } else {
            // It could repeat without end.
            this.#notice.show(t("common.failed"), again && element("button", { type: "button", click: again }, t("common.retry")));
        }
    }

    async signOut() {
        this.#isLeaving = true;
        try {
            await signOut();
            this.leave(() => location.replace("./"));
        } catch (failure) {
            this.#isLeaving = false;
            this.#notice.showFailure(failure, () => this.signOut());
        }
    }

    leave(goOn) {
        this.#isLeaving = true;
        this.page.clear();
        goOn();
    }

    #watch(session) {
        watchSession(session, {
            signedOut: () => this.#isLeaving || this.leave(() => location.replace("./")),
            otherPerson: () => this.leave(() => location.reload()),
            expired: () => this.#isSignedOut || this.#isLeaving || this.refuse(null),
            samePerson: () => {
                if (this.#isSignedOut) {
                    this.#isSignedOut = false;
                    this.page.resume();
                }
            },
        });
    }
}
