const show = JSON.parse(document.getElementById("show").textContent), place = document.getElementById("network");
let week = show.first, action = 0;

function read() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const w = show.dates.indexOf(asked.get("week")), a = show.actions.indexOf(asked.get("action"));
  if (w >= 0) week = w;
  if (a >= 0) action = a;
}

function draw() {
  const view = show.views[action][week];
  document.getElementById("what").textContent = show.actions[action];
  document.getElementById("when").textContent =
    (show.status[week] === "expected" ? "expected, " : "observed, ") + show.period + " of " + show.dates[week];
  document.body.dataset.status = show.status[week];
  Plotly.react(place, view.data, { ...view.layout, width: place.clientWidth, height: place.clientHeight, autosize: false },
    { displayModeBar: false, scrollZoom: false });
  const now = new URLSearchParams({ week: show.dates[week], action: show.actions[action] });
  history.replaceState(null, "", "#" + now);
}

const moves = {
  ArrowRight: [1, 0], PageDown: [1, 0], " ": [1, 0], ArrowLeft: [-1, 0], PageUp: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1],
};
document.addEventListener("keydown", (event) => {
  if (event.key === "f" || event.key === "F") {
    document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen();
  } else if (event.key === "Home" || event.key === "End") {
    week = event.key === "Home" ? 0 : show.dates.length - 1;
  } else if (event.key in moves) {
    const [weeks, actions] = moves[event.key], n = show.actions.length;
    week = Math.min(Math.max(week + weeks, 0), show.dates.length - 1);
    action = (action + actions + n) % n;
    event.preventDefault();
  } else return;
  draw();
});
addEventListener("resize", draw);
addEventListener("hashchange", () => { read(); draw(); });
read();
draw();
