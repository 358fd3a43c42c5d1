/** The attributes of the classes, for a Parse SDK: `new Parse.Query<Parse.Object<BloodPressure>>('BloodPressure')`. */
export type * from './generated/classes.ts'
