for (const holder of document.querySelectorAll("script[data-chart]")) {
  const chart = JSON.parse(holder.textContent), place = document.getElementById(holder.dataset.chart);
  const room = Math.max(320, Math.min(940, place.parentElement.clientWidth));
  place.style.width = room + "px";
  Plotly.newPlot(place, chart.data, { ...chart.layout, width: room, autosize: false },
    { displaylogo: false, scrollZoom: false, responsive: false, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
      toImageButtonOptions: { format: "svg", filename: holder.dataset.name } });
}
