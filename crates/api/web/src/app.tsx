// The page's frame: the way around, who asks, whether what is shown is fresh, and the view that was chosen.
import { useEffect, useRef, useState } from "preact/hooks";
import { keepToken, token } from "./api";
import { span } from "./format";
import { tell, useKnown } from "./store";
import { follow } from "./stream";
import { common, frame as labels, token as tokenLabels, views } from "./strings";
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

/** The views in the order of the menu, by their place in the address; the overview has the empty place. */
const WAYS: [string, string][] = Object.entries(views).map(([way, title]) => [way === "overview" ? "" : way, title]);

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
  document.title = labels.tab(name || title);
  const old = known.link.is !== "live" && known.scene !== null;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>{labels.content}</a>
      <nav aria-label={labels.views}>
        <a class="mark" href="#/"><img src="/icon.svg" alt="" width="26" height="26" /> {labels.product}</a>
        {WAYS.map(([to, text]) => {
          const here = to === way || (to !== "" && to === `${way}s`);
          return <a href={`#/${to}`} aria-current={here ? "page" : undefined}>{text}</a>;
        })}
        <div class="foot">
          <Theme />
          {status && <p class="dim">{labels.version(status.version, status.generation)}<br />{labels.running(span(status["uptime-ms"]))}</p>}
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
    default: return <p>{labels.noSuchView} <a href="#/">{views.overview}</a></p>;
  }
}

function Waiting() {
  const { link } = useKnown();
  return <p class="empty">{link.is === "refused" ? labels.withoutToken : labels.waiting}</p>;
}

/** Says whether what is shown is of now, and who asks. */
function Freshness() {
  const known = useKnown();
  const { link } = known;
  const age = known.heard ? span(Date.now() - known.heard) : "";
  return (
    <header class={`top ${link.is}`}>
      <p role="status">
        {link.is === "live" && <><span class="pulse" aria-hidden="true">●</span> {labels.live}</>}
        {link.is === "connecting" && labels.connecting}
        {link.is === "broken" && <><strong>{age ? labels.stale(age) : labels.noConnection}</strong> {link.why}{labels.retrying}</>}
        {link.is === "refused" && <><strong>{labels.refused}</strong> {link.why}</>}
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
  const who = known.me ? (known.me.token ? known.me.who.replace(/ from .*/, "") : tokenLabels.absent) : "";
  return (
    <>
      <button type="button" class="quiet" onClick={() => dialog.current?.showModal()}>
        {known.me ? `${who}: ${known.me.role}` : tokenLabels.title}
      </button>
      <dialog ref={dialog} aria-label={tokenLabels.title}>
        <form onSubmit={(event) => { event.preventDefault(); use(typed); }}>
          <h2>{tokenLabels.title}</h2>
          <p>{tokenLabels.hint} <code>{tokenLabels.command}</code>. {tokenLabels.kept}</p>
          {known.link.is === "refused" && <Wrong why={known.link.why} />}
          <input type="password" autoComplete="off" aria-label={tokenLabels.title} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
          <p class="buttons">
            <button type="submit" class="main" disabled={!typed.trim()}>{tokenLabels.use}</button>
            {token() && <button type="button" onClick={() => use("")}>{tokenLabels.forget}</button>}
            <button type="button" onClick={() => dialog.current?.close()}>{common.close}</button>
          </p>
        </form>
      </dialog>
    </>
  );
}

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
    <label class="theme">{labels.colours}{" "}
      <select value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
        {Object.entries(labels.themes).map(([name, text]) => <option value={name}>{text}</option>)}
      </select>
    </label>
  );
}

function place(): string[] {
  return location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
}
