import type { Row } from './served.ts';

interface Change {
  readonly paths: readonly string[];
  readonly relay_chain: string;
  readonly chain: string | null;
  readonly column: string | null;
  readonly value: string | null;
  readonly rows: number;
}

interface ChangesPage {
  readonly changes: readonly Change[];
  readonly cursor: string;
  readonly has_more: boolean;
}

interface CataloguePath {
  readonly path: string;
  readonly relay_chains: readonly string[];
  readonly parameters: readonly { readonly name: string; readonly required: boolean }[];
}

type Get = (url: string) => Promise<unknown>;
/** So few that lists have several pages. */
const PAGE = 50;

/** A copy of the metrics as a consumer keeps it: one full pull, and then only what the list of changes names. */
export class Mirror {
  cursor = '';
  readonly #rows = new Map<string, readonly Row[]>();

  static async pull(get: Get): Promise<Mirror> {
    const mirror = new Mirror();
    mirror.cursor = ((await get(`/api/changes?since=${new Date().toISOString()}`)) as ChangesPage).cursor;
    for (const [path, urls] of await urlsByPath(get)) mirror.#rows.set(path, await rowsAt(get, urls));
    return mirror;
  }

  copy(): Mirror {
    const mirror = new Mirror();
    mirror.cursor = this.cursor;
    for (const [path, rows] of this.#rows) mirror.#rows.set(path, rows);
    return mirror;
  }

  /** Pulls what has changed; returns the changes. What fails halfway leaves it as it was. */
  async follow(get: Get): Promise<readonly Change[]> {
    const changes: Change[] = [];
    let page: ChangesPage;
    let { cursor } = this;
    do {
      page = (await get(`/api/changes?limit=${PAGE}${cursor && `&cursor=${cursor}`}`)) as ChangesPage;
      changes.push(...page.changes);
      ({ cursor } = page);
    } while (page.has_more);
    const since = this.cursor && `&changed_since=${this.cursor}`;
    const pulled = new Map<string, readonly Row[]>();
    for (const [path, urls] of await urlsByPath(get)) {
      const own = changes.filter(({ paths }) => paths.includes(path));
      if (own.length === 0) continue;
      const rows = await rowsAt(
        get,
        urls.map((url) => `${url}${since}`),
      );
      // Of what changed after the list was read, both are older than the next list.
      const news = new Set(asText(rows));
      const isKept = (row: Row) => !own.some((change) => isOf(row, change)) && !news.has(JSON.stringify(row));
      pulled.set(path, [...(this.#rows.get(path) ?? []).filter(isKept), ...rows]);
    }
    for (const [path, rows] of pulled) this.#rows.set(path, rows);
    this.cursor = cursor;
    return changes;
  }

  /** Paths whose rows are not those of a full pull. */
  async differences(get: Get): Promise<string[]> {
    const found: string[] = [];
    for (const [path, urls] of await urlsByPath(get)) {
      const [mirrored, full] = [this.#rows.get(path) ?? [], await rowsAt(get, urls)].map(asText);
      const [lacking, left] = [without(full, mirrored), without(mirrored, full)];
      if (lacking.length + left.length > 0)
        found.push(`${path} lacks ${lacking.slice(0, 3)} and still has ${left.slice(0, 3)}`);
      else if (full?.length !== mirrored?.length) found.push(`${path} has rows twice`);
    }
    return found;
  }
}

const asText = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(row));
const without = (all: readonly string[] = [], others: readonly string[] = []) => {
  const known = new Set(others);
  return all.filter((one) => !known.has(one));
};

function isOf(row: Row, { relay_chain, chain, column, value }: Change): boolean {
  if (row.relay_chain !== relay_chain || (chain !== null && row.chain !== chain)) return false;
  if (column === null || value === null) return true;
  const own = String(row[column]);
  return own === value || (/^\d{4}-\d\d-\d\d$/.test(value) && own.startsWith(value));
}

/** The requests for all rows of each path that can be asked for what has changed, without parameters of its own. */
async function urlsByPath(get: Get): Promise<Map<string, string[]>> {
  const catalogue = (await get('/api/metrics')) as readonly CataloguePath[];
  return new Map(
    catalogue.flatMap(({ path, relay_chains, parameters }) => {
      const names = parameters.map(({ name }) => name);
      const required = parameters.filter((one) => one.required).map(({ name }) => name);
      const isDated = required.includes('start_date');
      if (!names.includes('changed_since') || required.length !== (isDated ? 2 : 0)) return [];
      const dates = isDated ? 'start_date=2000-01-01&end_date=2100-01-01' : 'limit=10000';
      const relays = names.includes('relay_chain')
        ? relay_chains.map((relay) => `&relay_chain=${relay}`)
        : [''];
      return [[path, relays.map((relay) => `${path}?${dates}${relay}`)] as const];
    }),
  );
}

async function rowsAt(get: Get, urls: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const url of urls) rows.push(...((await get(url)) as Row[]));
  return rows;
}
