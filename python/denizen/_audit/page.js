const samples = JSON.parse(document.getElementById('samples')?.textContent ?? 'null');
if (samples) {
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
  function nearest(event) {
    const box = plot.getBoundingClientRect();
    const seconds = samples.end * (event.clientX - box.left) / box.width;
    let index = samples.seconds.findLastIndex(moment => moment <= seconds);
    return Math.max(index, 0);
  }
  plot.addEventListener('pointermove', event => show(nearest(event)));
  plot.addEventListener('pointerdown', event => show(nearest(event)));
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
