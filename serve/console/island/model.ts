import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { ChartState, SeriesAnswer, SeriesData } from '../model/chart-state.ts';
import { type Drawing, drawingOf } from '../model/drawing.ts';
import { formatExact, formatShort } from '../model/format.ts';
import { displayUnit } from '../model/summary.ts';

/** The state of a chart: its data, the choices of the visitor, and the resulting drawing. */
export interface ChartModel {
  readonly title: string;
  readonly answer: SeriesAnswer;
  readonly state: Signal<ChartState>;
  /** Ids of hidden series. */
  readonly hidden: Signal<ReadonlySet<string>>;
  /** The period at the crosshair. */
  readonly cursor: Signal<number | null>;
  /** Id of the series under the pointer in the legend. */
  readonly pointed: Signal<string | null>;
  readonly isZoomed: Signal<boolean>;
  readonly drawing: ReadonlySignal<Drawing>;
  readonly actions: ChartActions;
}

interface ChartActions {
  readonly toggle: (id: string) => void;
  readonly zoom: (from: number, until: number) => void;
  readonly reset: () => void;
  readonly say: (text: string) => void;
}

export function chartModel(
  given: Pick<ChartModel, 'title' | 'answer' | 'actions'>,
  state: ChartState,
  hidden: ReadonlySet<string>,
): ChartModel {
  const model = {
    ...given,
    state: signal(state),
    hidden: signal(hidden),
    cursor: signal<number | null>(null),
    pointed: signal<string | null>(null),
    isZoomed: signal(false),
  };
  return {
    ...model,
    drawing: computed(() => drawingOf(given.answer, model.state.value, model.hidden.value)),
  };
}

interface PeriodValue {
  readonly data: SeriesData;
  readonly colour: number;
  readonly value: number | null;
  readonly text: string;
  /** The raw value, if `value` is a share, an index or a mean. */
  readonly original: string;
}

/** The values of all drawn series in a period, the highest first. */
export function valuesAt({ series, axes }: Drawing, at: number): readonly PeriodValue[] {
  return series
    .map(({ data, colour, values, axis }) => {
      const value = values[at] ?? null;
      const { unit, token } = displayUnit(data, axes[axis]);
      const raw = data.values[at] ?? null;
      const isDerived = raw !== null && raw !== value;
      return {
        data,
        colour,
        value,
        text: (isDerived ? formatShort : formatExact)(value, unit, token),
        original: isDerived ? formatExact(raw, data.unit, data.token) : '',
      };
    })
    .sort((a, b) => (b.value ?? Number.NEGATIVE_INFINITY) - (a.value ?? Number.NEGATIVE_INFINITY));
}

export const isMissing = ({ gaps }: SeriesData, at: number): boolean =>
  gaps.some(([from, until]) => from <= at && at <= until);
