const detail = document.getElementById('detail');
const resting = detail.innerHTML;
let chosen = null;
function show(cell) {
  const info = document.getElementById(cell.dataset.info);
  detail.replaceChildren(info.content.cloneNode(true));
}
function rest() { chosen ? show(chosen) : detail.innerHTML = resting; }
for (const cell of document.querySelectorAll('button.cell')) {
  cell.addEventListener('mouseenter', () => show(cell));
  cell.addEventListener('focus', () => show(cell));
  cell.addEventListener('mouseleave', rest);
  cell.addEventListener('blur', rest);
  cell.addEventListener('click', () => {
    chosen?.setAttribute('aria-expanded', 'false');
    chosen = chosen === cell ? null : cell;
    chosen?.setAttribute('aria-expanded', 'true');
    rest();
  });
}
