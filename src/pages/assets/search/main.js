import { addTexts, t } from "../shared/language.js";
import texts from "../texts/search.js";
import { SearchPage } from "./page.js";

addTexts(texts);
document.title = t("search.title");
customElements.define("trawl-search", SearchPage);
