import { effect, untracked, useSignal } from '@preact/signals';
import type { TargetedKeyboardEvent, TargetedPointerEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { seriesColour } from '../model/chart-state.ts';
import { type Drawing, periodName } from '../model/drawing.ts';
import { legendValue, summaryOf } from '../model/summary.ts';
import { axisNames } from '../model/value-axes.ts';
import { colours } from './colours.ts';
import { type ChartModel, isMissing, valuesAt } from './model.ts';
import { plot, sizeOf } from './plot.ts';

const NARROW_PX = 520;

/** The current canvas. */
type PlotRef = { current: uPlot | null };
interface Shown {
  readonly model: ChartModel;
}

/** The canvas with its crosshair and buttons, and text for screen readers. */
export function ChartView({ model }: Shown) {
  const element = useRef<HTMLDivElement>(null);
  const built: PlotRef = useRef<uPlot>(null);
  useEffect(() => keepDrawn(element.current as HTMLDivElement, model, built), [model]);
  const drawing = model.drawing.value;
  const at = model.cursor.value;
  const touch = (event: TargetedPointerEvent<HTMLDivElement>) => {
    const u = built.current;
    if (event.pointerType !== 'touch' || u === null) return;
    u.setCursor({ left: event.clientX - u.over.getBoundingClientRect().left, top: u.over.clientHeight / 2 });
  };
  return (
    <>
      <div class="chart-head">
        <AxisNames model={model} />
        <Tools model={model} />
      </div>
      {/* The role `slider` makes screen readers announce each value. */}
      <div
        class="chart-plot"
        role="slider"
        tabIndex={0}
        aria-label={`${model.title}: values by ${drawing.per}. Arrow keys move the crosshair.`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, drawing.times.length - 1)}
        aria-valuenow={at ?? 0}
        aria-valuetext={at === null ? `No ${drawing.per} selected` : describeAt(drawing, at)}
        onKeyDown={(event) => moveByKey(event, model, built)}
        onBlur={() => built.current?.setCursor({ left: -10, top: -10 })}
        onPointerDown={touch}
        onPointerMove={touch}
      >
        <div class="chart-canvas" ref={element} />
        {at === null ? null : <Readout model={model} at={at} built={built} />}
      </div>
      <Words model={model} />
    </>
  );
}

/** The notes of the drawing, and a summary of each series for screen readers. */
function Words({ model }: Shown) {
  const drawing = model.drawing.value;
  return (
    <>
      {drawing.notes.map((note) => (
        <p class="hint" key={note}>
          {note}
        </p>
      ))}
      <ul class="unseen">
        {drawing.series.map((one) => (
          <li key={one.data.id}>{summaryOf(one, drawing)}</li>
        ))}
      </ul>
    </>
  );
}

/** Redraws when the state, the colours or the size change. Returns a function that stops it. */
function keepDrawn(element: HTMLElement, model: ChartModel, built: PlotRef): () => void {
  const endDrawing = effect(() => {
    const [drawing, theme] = [model.drawing.value, colours.value];
    built.current?.destroy();
    untracked(() => {
      model.cursor.value = null;
      built.current = plot(element, drawing, theme, {
        onCursor: (place) => {
          model.cursor.value = place;
        },
        onBrush: (from, until) => {
          built.current?.setScale('x', { min: drawing.times[from] ?? 0, max: drawing.times[until] ?? 0 });
          model.actions.zoom(from, until);
        },
        onReset: model.actions.reset,
      });
    });
  });
  // In a chart without controls, a zoom only changes the scale.
  const endZooming = effect(() => {
    if (model.isZoomed.value) return;
    const { times } = model.drawing.peek();
    built.current?.setScale('x', { min: times[0] ?? 0, max: times.at(-1) ?? 0 });
  });
  const endPointing = effect(() => {
    const id = model.pointed.value;
    const at = built.current?.series.findIndex(({ label }) => label === id) ?? -1;
    built.current?.setSeries(at < 0 ? null : at, { focus: true });
  });
  const observer = new ResizeObserver(() => {
    const [u, size] = [built.current, sizeOf(element)];
    if (u && (u.width !== size.width || u.height !== size.height)) u.setSize(size);
  });
  observer.observe(element);
  return () => {
    observer.disconnect();
    endPointing();
    endZooming();
    endDrawing();
    built.current?.destroy();
    built.current = null;
  };
}

function moveByKey(event: TargetedKeyboardEvent<HTMLDivElement>, model: ChartModel, built: PlotRef): void {
  const { times } = model.drawing.value;
  const at = model.cursor.value;
  const far = Math.max(1, Math.round(times.length / 10));
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: (at ?? -1) + 1,
    ArrowUp: (at ?? -1) + 1,
    ArrowLeft: (at ?? times.length) - 1,
    ArrowDown: (at ?? times.length) - 1,
    PageUp: (at ?? -1) + far,
    PageDown: (at ?? times.length) - far,
    Home: 0,
    End: times.length - 1,
  };
  const u = built.current;
  const to = steps[event.key];
  if (u === null || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === 'Escape') u.setCursor({ left: -10, top: -10 });
  if (to === undefined) return;
  event.preventDefault();
  const place = Math.min(times.length - 1, Math.max(0, to));
  u.setCursor({ left: u.valToPos(times[place] ?? 0, 'x'), top: u.over.clientHeight / 2 });
}

function describeAt(drawing: Drawing, at: number): string {
  const values = valuesAt(drawing, at).map(({ data, text }) => `${data.title} ${text}`);
  return `${periodName(drawing.times[at] ?? 0, drawing.per)}: ${values.join('; ')}`;
}

/** The values at the crosshair, on the side with more room. */
function Readout({ model, at, built }: Shown & { readonly at: number; readonly built: PlotRef }) {
  const u = built.current;
  const drawing = model.drawing.value;
  if (u === null) return null;
  const x = u.valToPos(drawing.times[at] ?? 0, 'x') + u.over.offsetLeft;
  const isRight = x > u.width / 2;
  // On narrow screens there may be no room beside the crosshair, so the box is at the opposite edge.
  const away = u.width < NARROW_PX ? 0 : (isRight ? u.width - x : x) + 14;
  const side = isRight === u.width < NARROW_PX ? { left: `${away}px` } : { right: `${away}px` };
  return (
    <div class="chart-readout" style={side} aria-hidden="true">
      <p>
        <b>{periodName(drawing.times[at] ?? 0, drawing.per)}</b>
        {at >= drawing.provisional ? <span>provisional</span> : null}
      </p>
      <table>
        <tbody>
          {valuesAt(drawing, at).map(({ data, colour, text, original }) => (
            <tr key={data.id} class={`line-${colour}`}>
              <th scope="row">
                <bdi>{data.title}</bdi>
              </th>
              <td>
                {isMissing(data, at) ? <span>partial</span> : null}
                {text}
                {original === '' ? null : <span>{original}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The names of the axes, the left one first. */
function AxisNames({ model }: Shown) {
  return (
    <p class="chart-axes">
      {axisNames(model.drawing.value).map((name) => (
        <span key={name}>{name}</span>
      ))}
    </p>
  );
}

function Tools({ model }: Shown) {
  const isCopied = useSignal(false);
  const copy = async () => {
    await copyText(location.href);
    isCopied.value = true;
    model.actions.say('The link was copied.');
    setTimeout(() => {
      isCopied.value = false;
    }, 2000);
  };
  return (
    <div class="chart-tools">
      {model.isZoomed.value ? (
        <button type="button" data-tool="reset" onClick={model.actions.reset}>
          Reset zoom
        </button>
      ) : null}
      <button type="button" data-tool="link" onClick={copy}>
        {isCopied.value ? 'Copied' : 'Copy link'}
      </button>
    </div>
  );
}

/** Copies a text. Over plain HTTP there is no clipboard API, so the fallback copies a selection. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}

/** The legend: a toggle per series, with its value at the crosshair, or else its last value. */
export function LegendView({ model }: Shown) {
  const drawing = model.drawing.value;
  const at = model.cursor.value;
  const point = (id: string | null) => () => {
    model.pointed.value = id;
  };
  return (
    <>
      {model.answer.series.map(({ id, title }, i) => {
        const isOn = !model.hidden.value.has(id);
        return (
          <li key={id} class={`line-${seriesColour(model.answer, i)}${isOn ? '' : ' off'}`} data-series={id}>
            <button
              type="button"
              aria-pressed={isOn}
              onClick={() => model.actions.toggle(id)}
              onPointerEnter={point(id)}
              onPointerLeave={point(null)}
              onFocus={point(id)}
              onBlur={point(null)}
            >
              <bdi>{title}</bdi> <span>{legendValue(drawing, id, at)}</span>
            </button>
          </li>
        );
      })}
    </>
  );
}
