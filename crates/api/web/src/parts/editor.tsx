// A text to write configurations in: the keyboard's own, with choices of what may stand where the caret is.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Ref } from "preact";
import { look } from "../api";
import type { ConfigKeys, ReferenceTable } from "../contract";
import { offer, type Offer } from "../complete";
import { editor as labels } from "../strings";

interface Props { text: string; change: (text: string) => void; editor: Ref<HTMLTextAreaElement> & { current: HTMLTextAreaElement | null } }

const NONE: Offer = { from: 0, choices: [] };

export function Editor({ text, change, editor }: Props) {
  const [tables, setTables] = useState<ReferenceTable[]>([]);
  const [offered, setOffered] = useState<Offer>(NONE);
  const [chosen, setChosen] = useState(-1);
  const list = useRef<HTMLUListElement>(null);
  // Without them there is nothing to choose from, and all else works.
  useEffect(() => void look<ConfigKeys>("/v1/config/keys").then((told) => setTables(told.tables), () => undefined), []);
  useEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: "nearest" }), [chosen]);
  const close = () => {
    setOffered(NONE);
    setChosen(-1);
  };
  const see = (area: HTMLTextAreaElement, asked: boolean) => {
    const found = offer(area.value, area.selectionStart, tables);
    const typed = area.selectionStart > found.from;
    setOffered(asked || typed ? found : NONE);
    setChosen(asked && found.choices.length > 0 ? 0 : -1);
  };
  const take = (at: number) => {
    const [area, choice] = [editor.current, offered.choices[at]];
    if (!area || !choice) return;
    area.focus();
    area.setSelectionRange(offered.from, area.selectionStart);
    // The only way that can be undone by the keyboard's own means; where it is gone, without.
    if (!document.execCommand("insertText", false, choice.word)) area.setRangeText(choice.word, offered.from, area.selectionEnd, "end");
    change(area.value);
    close();
  };
  const press = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) => {
    const most = offered.choices.length;
    if (event.key === " " && event.ctrlKey) see(event.currentTarget, true);
    else if (most === 0) return;
    else if (event.key === "Escape") close();
    else if (event.key === "ArrowDown") setChosen((chosen + 1) % most);
    else if (event.key === "ArrowUp") setChosen((chosen + most - 1) % most);
    else if (event.key === "Enter" && chosen >= 0) take(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <textarea
        ref={editor} class="editor" spellcheck={false} aria-label={labels.label} aria-autocomplete="list" aria-controls="choices" value={text} rows={24}
        onInput={(event) => { change(event.currentTarget.value); see(event.currentTarget, false); }} onKeyDown={press} onClick={close}
      />
      <p class="dim">{labels.hint}</p>
      {offered.choices.length > 0 && (
        <ul class="choices" id="choices" role="listbox" aria-label={labels.offers} ref={list}>
          {offered.choices.map((choice, at) => (
            <li role="option" aria-selected={at === chosen} onMouseDown={(event) => { event.preventDefault(); take(at); }}>
              <span class="mono">{choice.word}</span> <span class="dim">{choice.note}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
