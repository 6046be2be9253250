// Whether words are still typed. Sources may ask to be left alone meanwhile (`whileTyping`): the server skips them.

/** Milliseconds without a key after which words are finished. */
const REST = 600;

export class Typing {
    #timer = 0;
    #isOn = false;

    /** @param {() => void} rested follows each end */
    constructor(rested) {
        this.rested = rested;
    }

    get isOn() {
        return this.#isOn;
    }

    /** A change of the words. */
    begin() {
        clearTimeout(this.#timer);
        this.#isOn = true;
        this.#timer = setTimeout(() => this.end(), REST);
    }

    /** Rest, or Enter. */
    end() {
        clearTimeout(this.#timer);
        if (this.#isOn) {
            this.#isOn = false;
            this.rested();
        }
    }
}
