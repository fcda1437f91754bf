// Follows the newest extrinsics of a chain: the server sends table rows as server-sent events.

/** Most rows in the table. */
const ROWS_MAX = 200;

const place = document.querySelector('[data-follow]');
const body = document.querySelector('.records tbody');
if (place && body) follow(place, body);

function follow(place, body) {
  const status = place.querySelector('[role="status"]');
  const reload = place.querySelector('a');
  const button = place.querySelector('button');
  const address = new URL(place.dataset.follow, location.href);
  let source = null;
  let isPaused = false;

  const say = (text, isLive) => {
    status.textContent = text;
    place.classList.toggle('on', isLive);
    reload.hidden = isLive;
  };

  const open = () => {
    source = new EventSource(address);
    source.onopen = () => say('Live: new extrinsics appear as they come.', true);
    source.onerror = () =>
      source.readyState === EventSource.CLOSED
        ? say('Not live.', false)
        : say('The connection was lost; trying again.', false);
    source.addEventListener('extrinsic', ({ data, lastEventId }) => {
      const row = document.createElement('template');
      row.innerHTML = data;
      row.content.firstElementChild.classList.add('fresh');
      body.prepend(row.content);
      while (body.rows.length > ROWS_MAX) body.deleteRow(-1);
      address.searchParams.set('after', lastEventId);
    });
  };
  const close = () => {
    source?.close();
    source = null;
  };

  button.hidden = false;
  button.addEventListener('click', () => {
    isPaused = !isPaused;
    button.textContent = isPaused ? 'Go on' : 'Pause';
    if (isPaused) {
      close();
      say('Paused.', false);
    } else open();
  });
  // A hidden page needs no connection.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) close();
    else if (source === null && !isPaused) open();
  });
  open();
}
