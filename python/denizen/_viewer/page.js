// The timeline of an audit: numbers at the pointer or the slider, lines that are marked or hidden.
function readTimeline(samples) {
  const plot = document.getElementById('plot');
  const cursor = document.getElementById('cursor');
  const slider = document.getElementById('moment');
  const when = document.getElementById('when');
  const buttons = [...document.querySelectorAll('#lines button')];
  const resting = [when.textContent, buttons.map(button => button.lastChild.textContent)];
  const parts = line => plot.querySelectorAll(`[data-line="${line}"]`);
  slider.hidden = false;

  function show(index) {
    slider.value = index;
    cursor.hidden = false;
    cursor.style.left = `${100 * samples.seconds[index] / (samples.end || 1)}%`;
    when.textContent = `Live objects at ${samples.when[index]}`;
    buttons.forEach((button, line) => {
      button.lastChild.textContent = samples.lines[line].live[index].toLocaleString('en');
    });
    const told = samples.lines.map(line => `${line.type} ${line.live[index].toLocaleString('en')}`);
    slider.setAttribute('aria-valuetext', `${samples.when[index]}: ${told.join(', ')}`);
  }
  function rest() {
    cursor.hidden = true;
    when.textContent = resting[0];
    buttons.forEach((button, line) => { button.lastChild.textContent = resting[1][line]; });
  }
  // The last moment at or before the pointer: counts hold until the next one.
  function indexAt(event) {
    const box = plot.getBoundingClientRect();
    const seconds = samples.end * (event.clientX - box.left) / box.width;
    const index = samples.seconds.findLastIndex(moment => moment <= seconds);
    return Math.max(index, 0);
  }
  plot.addEventListener('pointermove', event => show(indexAt(event)));
  plot.addEventListener('pointerdown', event => show(indexAt(event)));
  plot.addEventListener('pointerleave', event => { if (event.pointerType === 'mouse') rest(); });
  slider.addEventListener('input', () => show(Number(slider.value)));
  slider.addEventListener('focus', () => show(Number(slider.value)));
  slider.addEventListener('blur', rest);

  buttons.forEach((button, line) => {
    const choose = on => {
      plot.classList.toggle('chosen', on);
      for (const part of parts(line)) part.classList.toggle('chosen', on);
    };
    button.addEventListener('mouseenter', () => choose(true));
    button.addEventListener('mouseleave', () => choose(false));
    button.addEventListener('focus', () => choose(true));
    button.addEventListener('blur', () => choose(false));
    button.addEventListener('click', () => {
      const on = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', on);
      for (const part of parts(line)) part.classList.toggle('off', !on);
    });
  });
}

// The verdicts of a check: what happened in the operation of a cell.
function readVerdicts(detail) {
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
}

const samples = document.getElementById('samples');
if (samples) readTimeline(JSON.parse(samples.textContent));
const detail = document.getElementById('detail');
if (detail) readVerdicts(detail);
