// Keeps parts of a page up to date: fetches them every few seconds while the page is visible, and replaces those that
// changed. Checked boxes, focus and scroll position are preserved.

const PERIOD_MS = 5000;
const PERIOD_MS_MAX = 60_000;
const ANSWER_MS_MAX = 30_000;

class Follower {
  #bar;
  #etag = '';
  #period = PERIOD_MS;
  #timer;
  #isPaused = false;
  #newest = newestIid();

  constructor(bar) {
    this.#bar = bar;
  }

  start() {
    const pause = this.#part('pause');
    pause.hidden = false;
    this.#part('reload').hidden = true;
    pause.addEventListener('click', () => {
      this.#isPaused = !this.#isPaused;
      pause.textContent = this.#isPaused ? 'Resume updates' : 'Pause updates';
      if (this.#isPaused) this.#show('paused', 'Paused');
      else this.#ask();
      this.#plan();
    });
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden && !this.#isPaused) this.#ask();
      else this.#plan();
    });
    this.#show('live', 'Live');
    this.#plan();
  }

  #part = (name) => this.#bar.querySelector(`[data-live-${name}]`);

  #plan() {
    clearTimeout(this.#timer);
    if (!this.#isPaused && !document.hidden) this.#timer = setTimeout(() => this.#ask(), this.#period);
  }

  #show(name, text) {
    this.#bar.dataset.is = name;
    this.#part('state').textContent = text;
  }

  async #ask() {
    try {
      const reply = await fetch(this.#bar.dataset.live, {
        headers: this.#etag ? { 'if-none-match': this.#etag } : {},
        redirect: 'manual',
        cache: 'no-store',
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      });
      // Signed out, or no longer a member.
      if (reply.type === 'opaqueredirect' || [403, 404].includes(reply.status)) return this.#stop();
      if (reply.status !== 200 && reply.status !== 304) throw new Error(`status ${reply.status}`);
      if (reply.status === 200) {
        this.#etag = reply.headers.get('etag') ?? '';
        replaceParts(await reply.text());
        this.#tellNews();
      }
      this.#period = PERIOD_MS;
      if (!this.#isPaused) this.#show('live', 'Live');
    } catch {
      // The page shows the failure and retries.
      this.#period = Math.min(this.#period * 2, PERIOD_MS_MAX);
      this.#show('away', 'Not connected');
    }
    this.#plan();
  }

  #stop() {
    this.#isPaused = true;
    this.#part('pause').hidden = true;
    this.#part('reload').hidden = false;
    this.#show('stopped', 'Updates stopped');
  }

  /** Highlights and announces new alerts, each once. */
  #tellNews() {
    const rows = [...document.querySelectorAll('[data-iid]')];
    const fresh = rows.filter((row) => Number(row.dataset.iid) > this.#newest);
    for (const row of fresh) row.classList.add('fresh');
    if (fresh.length > 0)
      this.#part('news').textContent = fresh.length === 1 ? '1 new alert' : `${fresh.length} new alerts`;
    this.#newest = Math.max(this.#newest, newestIid());
  }
}

const bar = document.querySelector('[data-live]');
if (bar) new Follower(bar).start();

function newestIid() {
  return Math.max(
    0,
    ...Array.from(document.querySelectorAll('[data-iid]'), (row) => Number(row.dataset.iid)),
  );
}

function replaceParts(text) {
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  for (const next of fresh.querySelectorAll('[data-part]')) {
    const old = document.querySelector(`[data-part="${next.dataset.part}"]`);
    if (!old || old.dataset.text === next.innerHTML) continue;
    const source = next.innerHTML;
    const checked = new Set(Array.from(old.querySelectorAll('input:checked'), ({ value }) => value));
    for (const box of next.querySelectorAll('input[type=checkbox]')) box.checked = checked.has(box.value);
    const focus = old.contains(document.activeElement) ? nameOf(document.activeElement) : null;
    const scroll = old.querySelector('.table')?.scrollLeft ?? 0;
    old.replaceChildren(...next.childNodes);
    old.dataset.text = source;
    if (old.querySelector('.table')) old.querySelector('.table').scrollLeft = scroll;
    if (focus)
      [...old.querySelectorAll('a, input, button, [tabindex]')]
        .find((one) => nameOf(one) === focus)
        ?.focus({ preventScroll: true });
  }
  document.dispatchEvent(new Event('parts-replaced'));
}

/** A key by which an element is found again after its part was replaced. */
function nameOf(element) {
  const row = element.closest('[data-iid]')?.dataset.iid ?? '';
  return [
    element.tagName,
    row,
    element.getAttribute('aria-label'),
    element.value,
    element.textContent.replace(/\d+/g, '').trim(),
  ].join(' ');
}
