// Finds visible text outside of src/strings.ts, and texts of src/strings.ts that no view uses. `strings.mjs FILE...`
// looks into these files only, for text. It prints one line for each finding and ends with 1 if there is any.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const source = join(dirname(fileURLToPath(import.meta.url)), "../src");
/** The texts, the types of the API, which hold none, and the names of units. */
const EXEMPT = ["strings.ts", "contract.ts", "format.ts"];
/** Attributes of elements and properties of ours that people read. */
const READ = new Set(["title", "label", "hint", "placeholder", "alt", "aria-label", "note", "name"]);
/** Attributes and calls whose texts are for the browser. */
const TECHNICAL = new Set(["class", "style", "sandbox", "viewBox", "d", "type", "role", "autoComplete", "id", "href", "src", "scope"]);
/** Texts with a space or a capital letter that nobody reads. */
const UNREAD = new Set(["11px system-ui", "2d", "POST", "GET", "Bearer ", "Escape", "ArrowDown", "ArrowUp", "Enter", "AbortError", "event: ", "data: ", "insertText", "NAME"]);

const hasLetters = (text) => /\p{L}{2}/u.test(text);
const isProse = (text) => hasLetters(text) && !UNREAD.has(text) && (/\p{L}+ +\p{L}/u.test(text) || /^\s*\p{Lu}/u.test(text) || /^[ ,;:.]/.test(text));

/** Whether a literal is drawn as it is: a child of an element, directly or as a choice. */
function isChild(node) {
  let above = node.parent;
  let below = node;
  const chooses = (one) => ts.isBinaryExpression(one) && [ts.SyntaxKind.BarBarToken, ts.SyntaxKind.AmpersandAmpersandToken, ts.SyntaxKind.QuestionQuestionToken].includes(one.operatorToken.kind);
  while (ts.isParenthesizedExpression(above) || chooses(above) || (ts.isConditionalExpression(above) && above.condition !== below)) [below, above] = [above, above.parent];
  return ts.isJsxExpression(above) && (ts.isJsxElement(above.parent) || ts.isJsxFragment(above.parent));
}

function findings(path) {
  const file = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true, path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS);
  const found = [];
  const report = (node, text) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart());
    found.push(`${path}:${line + 1}: "${text.trim()}" is shown to people: it belongs in src/strings.ts`);
  };
  /** The text of a literal, and of a template's literal parts. */
  const parts = (node) => ts.isStringLiteralLike(node) ? [node.text]
    : ts.isTemplateExpression(node) ? [node.head.text, ...node.templateSpans.map((part) => part.literal.text)] : null;
  const walk = (node) => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isJsxText(node) && hasLetters(node.text)) report(node, node.text);
    if (ts.isJsxAttribute(node)) {
      const name = node.name.getText();
      if (TECHNICAL.has(name)) return;
      if (READ.has(name) && node.initializer && ts.isStringLiteral(node.initializer) && hasLetters(node.initializer.text)) return report(node, node.initializer.text);
    }
    const texts = parts(node);
    if (texts) {
      const shown = texts.find(isChild(node) ? hasLetters : isProse);
      if (shown !== undefined) return report(node, shown);
    }
    ts.forEachChild(node, walk);
  };
  walk(file);
  return found;
}

/** Paths of the texts: `views.overview`, `weight.rows.rank`. */
function keys(path) {
  const file = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  const found = [];
  const walk = (node, above) => {
    if (!ts.isObjectLiteralExpression(node)) return found.push(above);
    for (const one of node.properties) walk(one.initializer, [...above, one.name.getText()]);
  };
  for (const statement of file.statements.filter(ts.isVariableStatement)) {
    const [declaration] = statement.declarationList.declarations;
    if (ts.isObjectLiteralExpression(declaration.initializer)) walk(declaration.initializer, [declaration.name.getText()]);
  }
  return found;
}

const given = process.argv.slice(2);
const files = given.length > 0 ? given : readdirSync(source, { recursive: true })
  .filter((name) => /\.tsx?$/.test(name) && !EXEMPT.includes(name)).map((name) => join(source, name)).sort();
const lines = files.flatMap(findings);
if (given.length === 0) {
  const all = files.map((path) => readFileSync(path, "utf8")).join("\n");
  const used = (path) => {
    const name = path[path.length - 1];
    const listed = path.slice(0, -1).some((_, at) => new RegExp(`Object\\.(entries|keys)\\(.*\\b${path[path.length - 2 - at]}\\)`).test(all));
    return listed || new RegExp(`\\.${name}\\b`).test(all);
  };
  for (const path of keys(join(source, "strings.ts"))) if (!used(path)) lines.push(`src/strings.ts: ${path.join(".")} is used nowhere`);
}
lines.forEach((line) => console.log(line));
process.exitCode = lines.length > 0 ? 1 : 0;
