// Packet captures: one dropped on the page, or one that a rule called for, explained with its diagrams.
import { useEffect, useRef, useState } from "preact/hooks";
import { Explained as Readable, look, queried, send } from "../api";
import type { Captures as Stored } from "../contract";
import { Empty, Panel, Rows, Wrong, may, needs, useAsking } from "../parts/basics";
import { Drop } from "../parts/drop";
import { bytes, moment } from "../format";
import { captures as labels, common, views } from "../strings";

interface Shown { name: string; page: string }

export function Captures() {
  const [stored, setStored] = useState<Stored | null>(null);
  const [shown, setShown] = useState<Shown | null>(null);
  const asking = useAsking();
  const read = async () => setStored(await look<Stored>("/v1/captures"));
  useEffect(() => asking.run(read), []);
  const able = may("operate");
  const open = (name: string) =>
    asking.run(async () => setShown({ name, page: await (await send(`/v1/explain/capture${queried({ name })}`)).text() }));
  const take = (files: File[]) => {
    const [file] = files;
    if (!file) return;
    asking.run(async () => {
      const init = { method: "POST", body: await unpacked(file), headers: { "content-type": "application/octet-stream" } };
      setShown({ name: file.name, page: await (await send(`/v1/explain/trace${queried({ name: file.name })}`, init)).text() });
    });
  };
  return (
    <>
      <h1 class="aside">{views.captures}</h1>
      <Panel title={labels.title} wide>
        {!able && <p class="hint">{needs("operate")}</p>}
        <Drop label={labels.drop} hint={labels.dropHint} able={able && !asking.busy} take={take} />
        {asking.busy && <p role="status">{labels.working}</p>}
        <Wrong why={asking.wrong} />
      </Panel>
      {shown && <Explained of={shown} close={() => setShown(null)} />}
      <Panel title={labels.stored} wide aside={<button type="button" class="quiet" onClick={() => asking.run(read)}>{common.refresh}</button>}>
        {stored?.problem && <p class="wrong">{stored.problem}</p>}
        {stored && stored.rules.length > 0 && (
          <p class="dim">{labels.rules(stored.rules.map((rule) => `${rule.name}${rule.recording ? labels.taking : ""}`).join(", "), stored.written, stored.failed)}</p>
        )}
        {stored && (stored.captures.length === 0 ? <Empty>{stored.rules.length ? labels.empty : labels.emptyWithoutRules}</Empty> : (
          <Rows label={labels.stored} head={labels.head} rows={stored.captures.map((one) => [
            moment(one["at-unix-ms"]), one.rule, one.reason, bytes(one.bytes), <span class="mono">{one.file}</span>,
            <button type="button" disabled={!able || asking.busy} title={able ? "" : needs("operate")} onClick={() => open(one.name)} aria-label={labels.explainOf(one.name)}>{labels.explain}</button>,
          ])} />
        ))}
      </Panel>
    </>
  );
}

/** The explanation is a page of its own: in a frame that may run its script and reach nothing. */
function Explained({ of, close }: { of: Shown; close: () => void }) {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => frame.current?.scrollIntoView({ block: "start" }), [of]);
  return (
    <Panel title={of.name} wide aside={<button type="button" class="quiet" onClick={close}>{common.close}</button>}>
      <iframe ref={frame} class="explained" sandbox="allow-scripts" srcDoc={of.page} title={labels.explanation(of.name)} />
    </Panel>
  );
}

async function unpacked(file: File): Promise<Blob> {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (head[0] !== 0x1f || head[1] !== 0x8b) return file;
  return new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).blob().catch(() => {
    throw new Readable(labels.badGzip(file.name));
  });
}
