// A place to drop files on, or to choose them by the keyboard.
import { useState } from "preact/hooks";

export function Drop({ label, hint, able, many, take }: { label: string; hint: string; able: boolean; many?: boolean; take: (files: File[]) => void }) {
  const [over, setOver] = useState(false);
  const entered = (event: DragEvent) => {
    event.preventDefault();
    setOver(able);
  };
  return (
    <label
      class={`drop ${over ? "over" : ""} ${able ? "" : "off"}`} onDragOver={entered} onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (able) take([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <strong>{label}</strong> <span class="dim">{hint}</span>
      <input type="file" aria-label={label} disabled={!able} multiple={many ?? false} onChange={(event) => {
        take([...(event.currentTarget.files ?? [])]);
        event.currentTarget.value = "";
      }} />
    </label>
  );
}
