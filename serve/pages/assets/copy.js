// Buttons that copy the text of another element. They are hidden without JavaScript.

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

/** Copies the text; if the browser forbids that, selects it, so that the visitor can press Ctrl+C. */
async function copy(source) {
  try {
    // A trailing line break would run the command when pasted into a terminal.
    await navigator.clipboard.writeText(source.textContent.trim());
    return true;
  } catch {
    // Not allowed: the visitor can copy the selection.
    getSelection().selectAllChildren(source);
    return false;
  }
}
