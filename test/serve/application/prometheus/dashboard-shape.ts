import { z } from 'zod';

// What Grafana's schema of dashboards (version 39) asks of the parts that are used here; other keys are refused.

const datasource = z.strictObject({
  type: z.literal('prometheus'),
  uid: z.string().regex(/^\$\{datasource\}$/),
});

const target = z.strictObject({
  refId: z.string().regex(/^[A-Z]$/),
  datasource,
  expr: z.string().min(1),
  legendFormat: z.string(),
  instant: z.boolean().optional(),
  format: z.literal('table').optional(),
});

const gridPos = z.strictObject({
  x: z.int().min(0).max(23),
  y: z.int().min(0),
  w: z.int().min(1).max(24),
  h: z.int().min(1),
});

/** Ids of units that Grafana knows. */
const unit = z.enum(['short', 's', 'bytes', 'Bps', 'ops', 'reqps', 'percentunit']);
const step = z.strictObject({ color: z.string(), value: z.number().nullable() });

const defaults = z.strictObject({
  unit,
  min: z.number(),
  thresholds: z.strictObject({ mode: z.literal('absolute'), steps: z.array(step).min(1) }).optional(),
  custom: z
    .strictObject({
      drawStyle: z.literal('line'),
      lineWidth: z.int(),
      fillOpacity: z.int(),
      showPoints: z.literal('never'),
      stacking: z.strictObject({ mode: z.enum(['none', 'normal']), group: z.string() }),
    })
    .optional(),
});

const panel = z.strictObject({
  id: z.int().min(1),
  type: z.enum(['timeseries', 'stat', 'table', 'row']),
  title: z.string().min(1),
  description: z.string().optional(),
  gridPos,
  datasource: datasource.optional(),
  fieldConfig: z.strictObject({ defaults, overrides: z.array(z.never()) }).optional(),
  targets: z.array(target).optional(),
  options: z.record(z.string(), z.unknown()).optional(),
  transformations: z.array(z.strictObject({ id: z.literal('organize'), options: z.unknown() })).optional(),
  // Of a row: the panels that it hides while it is collapsed.
  collapsed: z.literal(false).optional(),
  panels: z.array(z.never()).optional(),
});

export const dashboardShape = z.strictObject({
  uid: z.string().regex(/^[a-z-]{1,40}$/),
  title: z.string().min(1),
  description: z.string().min(1),
  tags: z.array(z.string()),
  timezone: z.literal('browser'),
  editable: z.boolean(),
  graphTooltip: z.int().min(0).max(2),
  schemaVersion: z.literal(39),
  version: z.int().min(1),
  refresh: z.string().regex(/^\d+[smh]$/),
  time: z.strictObject({ from: z.string(), to: z.string() }),
  templating: z.strictObject({
    list: z
      .array(
        z.strictObject({
          name: z.literal('datasource'),
          label: z.string(),
          type: z.literal('datasource'),
          query: z.literal('prometheus'),
          hide: z.literal(0),
          refresh: z.literal(1),
        }),
      )
      .length(1),
  }),
  links: z.array(z.record(z.string(), z.unknown())),
  annotations: z.strictObject({ list: z.array(z.never()) }),
  panels: z.array(panel).min(1),
});
