import { t } from "../../shared/language.js";
import { makeForm } from "../form.js";
import { takeHanded } from "../handed-word.js";
import { View } from "../view.js";
import { beginLine, canBeLines, PARTS, withLine } from "../vocabulary-lines.js";

const PATH = "/admin/v1/vocabulary";

class Vocabulary extends View {
    open() {
        this.heading = t("nav.vocabulary");
        this.loading(() => this.call("GET", PATH), (loaded) => this.#show(loaded));
    }

    #show(loaded) {
        const vocabulary = loaded.data;
        const field = (name) => {
            const fixed = !canBeLines(name, vocabulary[name]);
            return {
                name, kind: "long", label: t(`vocabulary.${name}`), value: PARTS[name].write(vocabulary[name]), rows: 8, fixed,
                hint: t(fixed ? "vocabulary.fixed" : `vocabulary.${name}-hint`),
            };
        };
        const form = makeForm({
            groups: [{ fields: Object.keys(PARTS).map(field) }],
            action: t("console.save"),
            reload: () => this.open(), lastChange: () => this.lastChange("vocabulary", this.tenant),
            send: async (texts, changed, isOver) => {
                const parts = Object.entries(changed).map(([name, text]) => [name, PARTS[name].read(text).entries]);
                try {
                    const alter = (now) => ({ ...now, ...Object.fromEntries(parts) });
                    await (isOver ? this.change(PATH, alter) : this.save(PATH, loaded, alter));
                } catch (failure) {
                    failure.message = withLine(failure.message, texts);
                    throw failure;
                }
                await this.go(this.place, { said: t("console.saved"), replace: true });
            },
        });
        this.render(t("nav.vocabulary"), { lead: t("vocabulary.lead") }, form.node);
        this.#begin(takeHanded());
    }

    /** Begins a line with a word that another view handed over. */
    #begin(handed) {
        const area = handed?.part && this.querySelector(`[name=${handed.part}]`);
        if (area && !area.readOnly) {
            area.value = [area.value, beginLine(handed.part, handed.word)].filter(Boolean).join("\n");
            area.focus();
        }
    }
}

customElements.define("console-vocabulary", Vocabulary);
