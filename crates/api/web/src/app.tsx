// The page's frame: the way around, who asks, whether what is shown is fresh, and the view that was chosen.
import { useEffect, useRef, useState } from "preact/hooks";
import { keepToken, token } from "./api";
import { span } from "./format";
import { tell, useKnown } from "./store";
import { follow } from "./stream";
import { Wrong } from "./parts/basics";
import { Capacity } from "./views/capacity";
import { Captures } from "./views/captures";
import { Configuration } from "./views/configuration";
import { Events } from "./views/events";
import { Lab } from "./views/lab";
import { Network } from "./views/network";
import { Overview } from "./views/overview";
import { Packets } from "./views/packets";
import { Pair } from "./views/pair";
import { Pool, Pools } from "./views/pool";
import { Refused } from "./views/refused";
import { Rules } from "./views/rules";
import { Service, Services } from "./views/service";
import { Slow } from "./views/slow";
import { Users } from "./views/users";

const WAYS: [string, string][] = [
  ["", "Overview"],
  ["services", "Services"],
  ["pools", "Pools"],
  ["events", "Events and history"],
  ["rules", "Rules"],
  ["slow", "Explain slow"],
  ["refused", "Refused requests"],
  ["users", "Users"],
  ["captures", "Captures"],
  ["capacity", "Capacity"],
  ["configuration", "Configuration"],
  ["pair", "Shared addresses"],
  ["packets", "Packets"],
  ["network", "Links and names"],
  ["lab", "Lab results"],
];

export function App() {
  const known = useKnown();
  const [path, setPath] = useState(place());
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    const moved = () => {
      setPath(place());
      main.current?.focus();
      window.scrollTo(0, 0);
    };
    window.addEventListener("hashchange", moved);
    return () => window.removeEventListener("hashchange", moved);
  }, []);
  const [way = "", name = ""] = path;
  const status = known.scene?.status;
  const title = WAYS.find(([to]) => to === way || to === `${way}s`)?.[1] ?? "";
  document.title = `${name || title} – Steelyard`;
  const old = known.link.is !== "live" && known.scene !== null;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>To the content</a>
      <nav aria-label="Views">
        <a class="mark" href="#/"><img src="/icon.svg" alt="" width="26" height="26" /> Steelyard</a>
        {WAYS.map(([to, text]) => {
          const here = to === way || (to !== "" && to === `${way}s`);
          return <a href={`#/${to}`} aria-current={here ? "page" : undefined}>{text}</a>;
        })}
        <div class="foot">
          <Theme />
          {status && <p class="dim">{status.version}, generation {status.generation}<br />running for {span(status["uptime-ms"])}</p>}
        </div>
      </nav>
      <div class="body">
        <Freshness />
        <main id="main" ref={main} tabIndex={-1} class={old ? "old" : ""}>
          {known.scene ? <View way={way} name={name} /> : <Waiting />}
        </main>
      </div>
    </>
  );
}

function View({ way, name }: { way: string; name: string }) {
  switch (way) {
    case "": return <Overview />;
    case "services": return <Services />;
    case "service": return <Service name={name} />;
    case "pools": return <Pools />;
    case "pool": return <Pool name={name} />;
    case "events": return <Events />;
    case "rules": return <Rules />;
    case "slow": return <Slow />;
    case "refused": return <Refused />;
    case "users": return <Users />;
    case "captures": return <Captures />;
    case "capacity": return <Capacity />;
    case "network": return <Network />;
    case "lab": return <Lab />;
    case "configuration": return <Configuration />;
    case "pair": return <Pair />;
    case "packets": return <Packets />;
    default: return <p>There is no such view. <a href="#/">Overview</a></p>;
  }
}

function Waiting() {
  const { link } = useKnown();
  return <p class="empty">{link.is === "refused" ? "Nothing is shown without a good token." : "Waiting for the daemon…"}</p>;
}

/** Says whether what is shown is of now, and who asks. */
function Freshness() {
  const known = useKnown();
  const { link } = known;
  const age = known.heard ? span(Date.now() - known.heard) : "";
  return (
    <header class={`top ${link.is}`}>
      <p role="status">
        {link.is === "live" && <><span class="pulse" aria-hidden="true">●</span> live</>}
        {link.is === "connecting" && "connecting…"}
        {link.is === "broken" && <><strong>{age ? `Stale: this is ${age} old.` : "No connection."}</strong> {link.why}; trying again.</>}
        {link.is === "refused" && <><strong>Refused.</strong> {link.why}</>}
      </p>
      <Token />
    </header>
  );
}

function Token() {
  const known = useKnown();
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const refused = known.link.is === "refused";
  useEffect(() => {
    if (refused && !dialog.current?.open) dialog.current?.showModal();
  }, [refused]);
  const use = (text: string) => {
    keepToken(text.trim());
    setTyped("");
    dialog.current?.close();
    known.link = { is: "connecting" };
    follow();
  };
  const who = known.me ? (known.me.token ? known.me.who.replace(/ from .*/, "") : "no token") : "";
  return (
    <>
      <button type="button" class="quiet" onClick={() => dialog.current?.showModal()}>
        {known.me ? `${who}: ${known.me.role}` : "Token"}
      </button>
      <dialog ref={dialog} aria-label="Token">
        <form onSubmit={(event) => { event.preventDefault(); use(typed); }}>
          <h2>Token</h2>
          <p>Without one you may look, on this machine. <code>steelyard token operate NAME</code> makes one; it is kept until this tab is closed.</p>
          {known.link.is === "refused" && <Wrong why={known.link.why} />}
          <input type="password" autoComplete="off" aria-label="Token" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
          <p class="buttons">
            <button type="submit" class="main" disabled={!typed.trim()}>Use it</button>
            {token() && <button type="button" onClick={() => use("")}>Forget it</button>}
            <button type="button" onClick={() => dialog.current?.close()}>Close</button>
          </p>
        </form>
      </dialog>
    </>
  );
}

const THEMES = ["system", "light", "dark"];

function Theme() {
  const [theme, setTheme] = useState(() => localStorage.getItem("steelyard-theme") ?? "system");
  useEffect(() => {
    localStorage.setItem("steelyard-theme", theme);
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    // Charts take their colours anew.
    tell();
  }, [theme]);
  return (
    <label class="theme">Colours{" "}
      <select value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
        {THEMES.map((name) => <option value={name}>{name}</option>)}
      </select>
    </label>
  );
}

function place(): string[] {
  return location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
}
