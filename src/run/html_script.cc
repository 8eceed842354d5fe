// The page's script: copy buttons, and the values under the pointer. Without it everything can still be read; it holds
// no "<", so that it can stand in any page.
#include "nascent/run/html.h"

namespace nascent::html {

std::string_view script() {
  return R"js((function () {
  document.querySelectorAll('button.copy').forEach(function (button) {
    button.hidden = false;
    button.addEventListener('click', function () {
      var text = button.parentNode.querySelector('pre, code').textContent;
      function done() {
        button.textContent = 'Copied';
        setTimeout(function () { button.textContent = 'Copy'; }, 1500);
      }
      function without_clipboard() {
        var area = document.createElement('textarea');
        area.value = text; document.body.appendChild(area); area.select();
        document.execCommand('copy'); area.remove(); done();
      }
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, without_clipboard);
      else without_clipboard();
    });
  });
  var tip = document.createElement('div');
  tip.className = 'tip'; tip.hidden = true; document.body.appendChild(tip);
  function shown(value) {
    return Math.abs(value) >= 1e5 || (value !== 0 && 1e-3 > Math.abs(value)) ? value.toExponential(2)
      : String(Math.round(value * 1e4) / 1e4);
  }
  document.querySelectorAll('[data-plot]').forEach(function (figure) {
    var plot = JSON.parse(figure.dataset.plot), svg = figure.querySelector('svg');
    if (!svg) return;
    svg.addEventListener('pointermove', function (event) {
      var box = svg.getBoundingClientRect(), at = (event.clientX - box.left) / box.width;
      var x = plot.x[0] + (at - plot.box[0]) / (plot.box[1] - plot.box[0]) * (plot.x[1] - plot.x[0]), near = null;
      plot.curves.forEach(function (curve) {
        curve.points.forEach(function (point) {
          if (near === null || Math.abs(near - x) > Math.abs(point[0] - x)) near = point[0];
        });
      });
      if (near === null) return;
      tip.textContent = '';
      var head = document.createElement('b');
      head.textContent = plot.by + ' ' + shown(near); tip.appendChild(head);
      plot.curves.forEach(function (curve) {
        curve.points.forEach(function (point) {
          if (point[0] !== near) return;
          var row = document.createElement('span'), mark = document.createElement('i');
          mark.style.background = 'var(--c' + curve.colour + ')';
          row.appendChild(mark);
          row.appendChild(document.createTextNode((curve.name ? curve.name + ' ' : '') + shown(point[1])));
          tip.appendChild(row);
        });
      });
      tip.hidden = false;
      var wide = tip.offsetWidth, left = event.pageX + 14;
      if (left + wide > window.scrollX + document.documentElement.clientWidth - 8) left = event.pageX - wide - 14;
      tip.style.left = Math.max(window.scrollX + 4, left) + 'px';
      tip.style.top = (event.pageY + 12) + 'px';
    });
    svg.addEventListener('pointerleave', function () { tip.hidden = true; });
  });
})();
)js";
}

}  // namespace nascent::html
