import type { Damage, DamageList } from './ports.ts';

/** What this process has found damaged, each file once. */
export class FoundDamage implements DamageList {
  readonly #found = new Map<string, Damage>();

  add(found: Damage): void {
    this.#found.set(found.file, found);
  }

  list(): readonly Damage[] {
    return [...this.#found.values()];
  }

  checkLog(): void {}
}
