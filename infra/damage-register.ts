import type { Damage, DamageList } from './ports.ts';

/** Damage that this process found, one entry per file. */
export class DamageRegister implements DamageList {
  readonly #found = new Map<string, Damage>();

  add(found: Damage): void {
    this.#found.set(found.file, found);
  }

  list(): readonly Damage[] {
    return [...this.#found.values()];
  }

  checkLog(): void {}
}
