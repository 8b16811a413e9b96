// A server of Node: says of each request to which area its path leads, by each way in which programs look at it.
const http = require("http");
const { posix, win32 } = require("path");

const area = (path) => ["admin", "public"].find((name) => path.startsWith(`/${name}/`)) ?? "other";
const decoded = (path) => {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
};
const parsed = (url) => {
  try {
    return new URL(url, "http://127.0.0.1").pathname;
  } catch {
    return "";
  }
};

const server = http.createServer({ keepAliveTimeout: 60000 }, (request, answer) => {
  const raw = request.url.split("?")[0];
  const pathname = parsed(request.url);
  const ways = {
    raw,
    url: pathname,
    decoded: decoded(raw),
    normal: posix.normalize(decoded(raw)),
    "url-normal": posix.normalize(decoded(pathname)),
    windows: win32.normalize(decoded(raw)).replaceAll("\\", "/"),
    twice: posix.normalize(decoded(decoded(pathname))),
    // A URL that was decoded before it was parsed.
    "decoded-url": parsed(decoded(request.url)),
  };
  answer.setHeader("X-Areas", Object.entries(ways).map(([way, path]) => `${way}=${area(path)}`).join(" "));
  answer.setHeader("X-Target", request.url);
  answer.setHeader("Content-Length", "0");
  answer.end();
});
server.listen(0, "127.0.0.1", () => console.log(`listens ${server.address().port}`));
