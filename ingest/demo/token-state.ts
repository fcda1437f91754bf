import type { Chain } from '../chains/chain.ts';
import type { Cast } from './cast.ts';
import { planckOf } from './day-book.ts';
import type { Random } from './random.ts';

const VALIDATORS = 297;
/** The account of the treasury pallet: its id, padded with zeros. */
const TREASURY = `0x${Buffer.from('modlpy/trsry').toString('hex')}${'00'.repeat(20)}`;

/** Simulates the state of a relay chain's token: issuance, stake, treasury and stable coins. */
export class TokenState {
  readonly #random: Random;
  readonly #cast: Cast;
  readonly #hub: Chain;
  /** In units of the token. */
  #issued: number;
  #staked: number;
  #treasury: number;
  #nominators: number;
  #coins = [31e6, 74e6];

  constructor(
    random: Random,
    cast: Cast,
    hub: Chain,
    start: { readonly issued: number; readonly treasury: number; readonly nominators: number },
  ) {
    this.#random = random;
    this.#cast = cast;
    this.#hub = hub;
    this.#issued = start.issued;
    this.#staked = start.issued * 0.49;
    this.#treasury = start.treasury;
    this.#nominators = start.nominators;
  }

  /** Advances by a day. */
  nextDay(): void {
    const random = this.#random;
    const step = () => random.fraction() - 0.46;
    this.#issued *= 1 + 0.075 / 365;
    this.#staked *= 1 + step() * 0.004;
    this.#nominators = Math.round(this.#nominators * (1 + step() * 0.006));
    this.#treasury *= 1 + (random.chance(0.07) ? -0.04 * random.fraction() : 0.0007);
    this.#coins = this.#coins.map((coins) => coins * (1 + step() * 0.018));
  }

  staking(era: number): object {
    const nominators = this.#nominators;
    const pools = Math.round(nominators / 150);
    return {
      active_era: era,
      validators: VALIDATORS,
      nominators,
      pools,
      pool_members: Math.round(nominators * 1.7),
      addresses_staking: Math.round(nominators * 2.7) + VALIDATORS,
      staked: this.#planck(this.#staked),
      staked_in_pools: this.#planck(this.#staked * 0.021),
      unbonding: this.#planck(this.#staked * (0.012 + 0.01 * this.#random.fraction())),
      min_active_stake: this.#planck(this.#staked / 1.4e6),
    };
  }

  validators(relay: Chain): object {
    const active = Array.from({ length: VALIDATORS }, (_, i) =>
      this.#cast.addressOf(this.#cast.at(i), relay),
    );
    return { active, waiting: 140 + this.#random.whole(0, 40), nominators: this.#nominators };
  }

  issuance(): object {
    return { total: this.#planck(this.#issued), inactive: this.#planck(this.#treasury) };
  }

  treasury(): object {
    const { token, decimals } = this.#hub;
    const account = this.#cast.addressOf(TREASURY, this.#hub);
    const balanceOf = (asset: string, units: number, places: number) => ({
      ...{ account, asset, decimals: places },
      amount: planckOf(units, places).toString(),
    });
    const own = balanceOf(token, this.#treasury, decimals);
    if (token !== 'DOT') return { balances: [own] };
    return {
      balances: [
        own,
        balanceOf('USDC', this.#treasury * 0.21, 6),
        balanceOf('USDT', this.#treasury * 0.34, 6),
        balanceOf('MYTH', this.#treasury * 1.1, 18),
      ],
    };
  }

  /** The payload of a `stable_holdings` snapshot, for a chain's share of the stable coins. */
  coins(share: number): object {
    const holding = (coin: string, asset_id: string, units: number) => {
      const sovereign = units * 0.06;
      return {
        ...{ coin, asset_id, decimals: 6 },
        issuance: planckOf((units + sovereign) * share, 6).toString(),
        sovereign_held: planckOf(sovereign * share, 6).toString(),
      };
    };
    const [a = 0, b = 0] = this.#coins;
    return { holdings: [holding('coin_a', '1337', a), holding('coin_b', '1984', b)] };
  }

  #planck(units: number): string {
    return planckOf(units, this.#hub.decimals).toString();
  }
}
