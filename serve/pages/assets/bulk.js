// Bulk actions on alerts: selects all, counts the selection, and enables the buttons if it is not empty.

const form = document.querySelector('form.bulk');
if (form) prepare(form);

function prepare(form) {
  const label = form.querySelector('[data-select-all]');
  const all = label.querySelector('input');
  const selected = form.querySelector('[data-selected]');
  const boxes = () => [...document.querySelectorAll('input[name=iid]')];
  const show = () => {
    const checked = boxes().filter((box) => box.checked).length;
    selected.textContent = `${checked} selected`;
    all.checked = checked > 0 && checked === boxes().length;
    all.indeterminate = checked > 0 && !all.checked;
    form.classList.toggle('active', checked > 0);
    for (const button of form.querySelectorAll('button')) button.disabled = checked === 0;
  };
  label.hidden = false;
  all.addEventListener('change', () => {
    for (const box of boxes()) box.checked = all.checked;
    show();
  });
  document.addEventListener('change', ({ target }) => target.name === 'iid' && show());
  document.addEventListener('parts-replaced', show);
  // A page from the back-forward cache keeps its checked boxes.
  addEventListener('pageshow', show);
  show();
}
