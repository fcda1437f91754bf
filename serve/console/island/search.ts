/**
 * The script of every page. ⌘K, Ctrl-K or / opens a search dialog with the results of the search page. On narrow screens
 * it scrolls the navigation to the current entry.
 */

const WAIT_MS = 120;

const form = document.querySelector<HTMLFormElement>('form[data-search]');
if (form) enhance(form);
for (const open of document.querySelectorAll(':is(.top, .side, .tabs) [aria-current]'))
  open.scrollIntoView({ block: 'nearest', inline: 'center' });

function enhance(form: HTMLFormElement): void {
  const dialog = document.createElement('dialog');
  dialog.className = 'search-dialog';
  dialog.setAttribute('aria-label', 'Search');
  const input = document.createElement('input');
  input.type = 'search';
  input.maxLength = 100;
  input.placeholder = 'Metrics, chains, referenda, contracts';
  input.setAttribute('aria-label', 'Search');
  const found = document.createElement('ul');
  found.className = 'found';
  dialog.append(input, found);
  document.body.append(dialog);

  const open = () => {
    if (dialog.open) return;
    dialog.showModal();
    input.select();
  };
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select');
    const isShortcut = event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey);
    if (!isShortcut && !(event.key === '/' && !isTyping)) return;
    event.preventDefault();
    open();
  });
  // Opens on click, not on focus, because the field regains focus when the dialog closes.
  form.addEventListener('click', (event) => {
    if (event.target instanceof HTMLInputElement) open();
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });

  let timer = 0;
  let request = new AbortController();
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = window.setTimeout(async () => {
      request.abort();
      request = new AbortController();
      // On failure the old results stay; the form still works.
      await show(input.value, found, request.signal).catch(() => undefined);
    }, WAIT_MS);
  });
  dialog.addEventListener('keydown', (event) => {
    const links = [...found.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    if (event.key === 'Enter' && document.activeElement === input) {
      // The results may belong to an earlier input.
      const first = found.dataset.words === input.value ? links[0]?.href : undefined;
      location.assign(first ?? `/search?${new URLSearchParams({ q: input.value })}`);
    }
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    const next = links[at + (event.key === 'ArrowDown' ? 1 : -1)];
    (next ?? input).focus();
  });
}

async function show(words: string, found: HTMLUListElement, signal: AbortSignal): Promise<void> {
  const answer = await fetch(`/search?${new URLSearchParams({ q: words })}`, { signal });
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  found.dataset.words = words;
  found.replaceChildren(...(page.querySelector('[data-found]')?.children ?? []));
}
