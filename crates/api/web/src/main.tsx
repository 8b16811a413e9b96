// Starts the page: draws it and opens the stream.
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { App } from "./app";
import { follow } from "./stream";

const place = document.getElementById("page");
if (place) {
  render(<App />, place);
  follow();
}
