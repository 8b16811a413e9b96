// Searches the built site for the terms of terms.json, by the site's own index and library: each leads to its page among
// the first three results. With terms as arguments it prints what they find instead.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";

const site = new URL("../../target/site/", import.meta.url);
const shown = 3;

const window = { search: {} };
const context = createContext({ window });
for (const part of ["elasticlunr", "searchindex"]) {
  const name = readdirSync(site).find((file) => file.startsWith(`${part}-`) && file.endsWith(".js"));
  assert.ok(name, `target/site has no ${part}: site/build`);
  runInContext(readFileSync(new URL(name, site), "utf8"), context);
}
// The library is a property of the window in a browser, and a variable of the page's here.
const library = window.elasticlunr ?? runInContext("elasticlunr", context);
const index = library.Index.load(window.search.index);

/** The places that the site shows for a term, the best first. */
function places(term, most) {
  const found = index.search(term, window.search.search_options);
  return found.slice(0, most).map(({ ref }) => window.search.doc_urls[ref]);
}

const asked = process.argv.slice(2);
if (asked.length > 0) {
  for (const term of asked) console.log(`${term}: ${places(term, 8).join("  ")}`);
} else {
  const terms = JSON.parse(readFileSync(new URL("terms.json", import.meta.url), "utf8"));
  const missed = Object.entries(terms).filter(([term, page]) => (
    !places(term, shown).some((place) => place.split("#")[0] === page)
  ));
  for (const [term, page] of missed) console.log(`${term}: ${page} is not among ${places(term, shown).join(" ")}`);
  const count = Object.keys(terms).length;
  console.log(`proof: search: ${count - missed.length} of ${count} terms lead to their page within ${shown} results`);
  assert.equal(missed.length, 0);
}
