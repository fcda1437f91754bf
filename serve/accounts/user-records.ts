import { type Sql, sql } from '../../infra/sql.ts';
import { type RecordContext, Records } from '../stored-records/records.ts';
import { type User, users } from './tables.ts';

/** Records of accounts. Only `withDeleted` finds deleted accounts. */
export class UserRecords extends Records<User> {
  /** Includes deleted accounts, whose names stay taken until all their data is removed. */
  readonly withDeleted: Records<User>;

  constructor(context: RecordContext) {
    super(context, users);
    this.withDeleted = new Records<User>(context, users);
  }

  override async get(id: string): Promise<User | null> {
    const user = await super.get(id);
    return user !== null && user.deleted_ms > 0 ? null : user;
  }

  override find(where: Sql, orderBy: string, limit?: number): Promise<User[]> {
    return super.find(sql`deleted_ms = 0 AND (${where})`, orderBy, limit);
  }
}
