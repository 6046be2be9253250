// The search page.

import { speak, t } from "../shared/language.js";
import texts from "../texts/search.js";
import { SearchPage } from "./page.js";

speak(texts);
document.title = t("search.title");
customElements.define("trawl-search", SearchPage);
