// Packet captures: one dropped on the page, or one that a rule called for, explained with its diagrams.
import { useEffect, useRef, useState } from "preact/hooks";
import { look, queried, send } from "../api";
import type { Captures as Stored } from "../contract";
import { Empty, Panel, Rows, Wrong, may, needs, useAsking } from "../parts/basics";
import { Drop } from "../parts/drop";
import { bytes, moment } from "../format";

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
      <h1 class="aside">Captures</h1>
      <Panel title="Explain a capture" wide>
        {!able && <p class="hint">{needs("operate")}</p>}
        <Drop label="Drop a capture here" hint="pcap or pcapng, also with gzip, up to 64 MiB: whose time it was, and why" able={able && !asking.busy} take={take} />
        {asking.busy && <p role="status">Looking…</p>}
        <Wrong why={asking.wrong} />
      </Panel>
      {shown && <Explained of={shown} close={() => setShown(null)} />}
      <Panel title="Captures that rules called for" wide aside={<button type="button" class="quiet" onClick={() => asking.run(read)}>Read again</button>}>
        {stored?.trouble && <p class="wrong">{stored.trouble}</p>}
        {stored && stored.rules.length > 0 && (
          <p class="dim">Rules: {stored.rules.map((rule) => `${rule.name}${rule.taking ? " (taking now)" : ""}`).join(", ")}. {stored.made} made, {stored.failed} not.</p>
        )}
        {stored && (stored.captures.length === 0 ? <Empty>None is stored{stored.rules.length ? "" : ": there is no table [capture.NAME]"}.</Empty> : (
          <Rows label="Captures" head={["When", "Rule", "Why", "#Size", "File", ""]} rows={stored.captures.map((one) => [
            moment(one["at-unix-ms"]), one.rule, one.about, bytes(one.bytes), <span class="mono">{one.file}</span>,
            <button type="button" disabled={!able || asking.busy} title={able ? "" : needs("operate")} onClick={() => open(one.name)} aria-label={`Explain ${one.name}`}>Explain</button>,
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
    <Panel title={of.name} wide aside={<button type="button" class="quiet" onClick={close}>Close</button>}>
      <iframe ref={frame} class="explained" sandbox="allow-scripts" srcDoc={of.page} title={`Explanation of ${of.name}`} />
    </Panel>
  );
}

async function unpacked(file: File): Promise<Blob> {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (head[0] !== 0x1f || head[1] !== 0x8b) return file;
  return new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
}
