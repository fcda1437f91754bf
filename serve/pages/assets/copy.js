// Buttons that copy the text of another element. They are hidden until this runs.

const SHOWN_MS = 2000;

for (const button of document.querySelectorAll('button[data-copy]')) {
  const { textContent: text, ariaLabel: label } = button;
  let timer;
  const show = (shown, said) => {
    button.textContent = shown;
    button.ariaLabel = said;
  };
  button.hidden = false;
  button.ariaLive = 'polite';
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy);
    if (!source) return;
    const result = (await copy(source)) ? 'Copied' : 'Press Ctrl+C';
    show(result, result);
    clearTimeout(timer);
    timer = setTimeout(() => show(text, label), SHOWN_MS);
  });
}

/** Selects the text where the browser does not let a page copy, so that a key does. */
async function copy(source) {
  try {
    // A line end would run the last command where a terminal is pasted into.
    await navigator.clipboard.writeText(source.textContent.trim());
    return true;
  } catch {
    // The browser does not allow it: a key copies what is selected.
    getSelection().selectAllChildren(source);
    return false;
  }
}
